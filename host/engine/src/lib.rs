//! Plan, apply, destroy: the only room that knows graph, sandbox and state together.
