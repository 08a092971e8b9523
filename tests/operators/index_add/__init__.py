"""Tests of one operator's variants."""
