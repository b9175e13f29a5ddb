"""The rule of decision: the readings of two sides in, a result per metric out; and its simulated error rates."""
