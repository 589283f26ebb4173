//! Gather, match, expand, select, order: a pure function from recipes and context to a graph.
