;; Calls its host while it is instantiated.
(import "purlin:driver/log@0.3.0" "write" (func $write (param i32 i32 i32)))
(func $start (call $write (i32.const 2) (i32.const 4136) (i32.const 2)))
(start $start)
