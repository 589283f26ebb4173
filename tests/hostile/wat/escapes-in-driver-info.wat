;; A description that clears the screen and reverses the direction of text.
(func $describe (export "purlin:driver/lifecycle@0.3.0#describe") (result i32)
  (drop (call $info))
  (i32.store (i32.const 1040) (i32.const 4200)) (i32.store (i32.const 1044) (i32.const 40))
  (i32.store (i32.const 1056) (i32.const 1200)) (i32.store (i32.const 1060) (i32.const 1))
  (i32.const 1024))
(data (i32.const 4200) "\1b[2J\1b]52;c;Y29weQ==\07\e2\80\ae\0d\08\e2\80\8btext for an operator......")
;; A requested capability in which every string does the same; it has a pattern.
(data (i32.const 1200) "\68\10\00\00\28\00\00\00\01\00\00\00\68\10\00\00\28\00\00\00\68\10\00\00\28\00\00\00")
