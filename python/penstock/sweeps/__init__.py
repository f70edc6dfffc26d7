"""`penstock.sweep`: one workload in many settings, and the trade-off between two figures."""
