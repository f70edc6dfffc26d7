"""The command `penstock`: one file for each verb.

Data goes to stdout, talk to stderr. What a verb does is done by the engine; here its words are
read and its results are shown.
"""
