;; A list of pollables outside the memory.
(import "wasi:io/poll@0.2.0" "poll" (func $poll (param i32 i32 i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $poll (i32.const 8) (i32.const 0x3fffffff) (i32.const 3072))
  (call $state))
