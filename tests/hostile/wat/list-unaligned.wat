;; A list at an unaligned address.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 2088) (i32.const 8193)) (i32.store (i32.const 2092) (i32.const 1))
  (i32.const 2048))
