;; Returns an answer and then traps.
(func $post (export "cabi_post_purlin:driver/lifecycle@0.3.0#create") (param i32) (unreachable))
