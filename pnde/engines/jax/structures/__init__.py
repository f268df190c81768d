"""Constraint Jacobians as linear operators: dense, rods, network, branches."""
