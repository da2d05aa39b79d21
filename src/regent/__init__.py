"""Regent: a Kafka controller whose every decision is pure code."""

__version__ = "0.1.0"
