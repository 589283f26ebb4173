;; A string whose end overflows to an address before its beginning.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 2064) (i32.const 0xffffffff)) (i32.store (i32.const 2068) (i32.const 2))
  (i32.const 2048))
