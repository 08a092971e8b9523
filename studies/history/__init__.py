"""How often steps of a history are false, and how soon real ones are found: simulated and recorded."""
