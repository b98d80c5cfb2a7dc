"""fgrpo-bench: did a method of group-relative RL really help, at which k, and would it hold?"""

__version__ = "0.1.0"
