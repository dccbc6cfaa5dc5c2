//! Wheels, their audit and their indexes.
