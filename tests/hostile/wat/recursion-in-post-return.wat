;; Returns an answer and then recurses without end.
(func $post (export "cabi_post_purlin:driver/lifecycle@0.3.0#create") (param i32) (call $post (local.get 0)))
