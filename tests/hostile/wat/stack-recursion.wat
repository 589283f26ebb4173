;; Recurses without end, with small stack frames.
(func $dig (param i32) (result i32) (i32.add (call $dig (local.get 0)) (i32.const 1)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32) (call $dig (i32.const 1)))
