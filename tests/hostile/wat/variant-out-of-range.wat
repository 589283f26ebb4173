;; An invalid variant: neither a state nor a failure.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store8 (i32.const 2048) (i32.const 2))
  (i32.const 2048))
