"""elementwise: functions of one to three broadcast operands."""
