;; A checkpoint whose cookie is an invalid option.
(import "purlin:driver/operation@0.3.0" "checkpoint" (func $checkpoint (param i32 i32 i32 i32 i32)))
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (call $checkpoint (i32.const 4136) (i32.const 2) (i32.const 2) (i32.const 4136) (i32.const 2))
  (call $state))
