"""The IOAgent paper: a factorial study of four disks, run and analysed again."""
