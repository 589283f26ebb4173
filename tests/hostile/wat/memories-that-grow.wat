;; Several memories that grow in turn.
(memory $m1 1) (memory $m2 1) (memory $m3 1)
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (loop $again
    (drop (memory.grow $m1 (i32.const 100)))
    (drop (memory.grow $m2 (i32.const 100)))
    (drop (memory.grow $m3 (i32.const 100)))
    (br_if $again (i32.lt_u (memory.size $m1) (i32.const 10000))))
  (call $state))
