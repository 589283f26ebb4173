;; A string whose last byte is past the end of the memory.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (call $state))
  (i32.store (i32.const 2064) (i32.const 262143))
  (i32.const 2048))
