;; An invalid log level.
(import "purlin:driver/log@0.3.0" "write" (func $write (param i32 i32 i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $write (i32.const 77) (i32.const 4136) (i32.const 2))
  (call $state))
