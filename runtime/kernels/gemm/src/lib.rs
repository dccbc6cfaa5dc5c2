//! Packed matrix products and convolutions for several instruction sets, over plain slices.
