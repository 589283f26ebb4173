(func $describe (export "purlin:driver/lifecycle@0.2.0#describe") (result i32)
  (i32.store (i32.const 1024) (i32.const 4096)) (i32.store (i32.const 1028) (i32.const 15))
  (i32.store (i32.const 1032) (i32.const 4112)) (i32.store (i32.const 1036) (i32.const 5))
  (i32.store (i32.const 1040) (i32.const 4132)) (i32.store (i32.const 1044) (i32.const 2))
  ;; It implements `check`, `name`, `read`, `update-impact` and `update`.
  (i32.store8 (i32.const 1048) (i32.const 31))
  (i32.store (i32.const 1052) (i32.const 1088)) (i32.store (i32.const 1056) (i32.const 1))
  (i32.store (i32.const 1060) (i32.const 0)) (i32.store (i32.const 1064) (i32.const 0))
  ;; The type: its name and two schemas.
  (i32.store (i32.const 1088) (i32.const 4128)) (i32.store (i32.const 1092) (i32.const 1))
  (i32.store (i32.const 1096) (i32.const 4132)) (i32.store (i32.const 1100) (i32.const 2))
  (i32.store (i32.const 1104) (i32.const 4132)) (i32.store (i32.const 1108) (i32.const 2))
  (i32.const 1024))
