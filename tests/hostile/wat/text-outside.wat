;; A string that begins outside the memory.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 2064) (i32.const 0x7fffffff))
  (i32.const 2048))
