"""What is done with a store: look after it, serve it, let people in."""
