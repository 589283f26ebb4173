;; A log line outside the memory.
(import "purlin:driver/log@0.3.0" "write" (func $write (param i32 i32 i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $write (i32.const 2) (i32.const 0xfffffff0) (i32.const 0x7fffffff))
  (call $state))
