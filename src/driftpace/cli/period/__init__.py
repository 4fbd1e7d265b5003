"""What is done every period: ask, tell, status, predict, and what people decide."""
