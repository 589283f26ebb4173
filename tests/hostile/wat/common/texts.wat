;; 4096 `purlin-test/wat`, 4112 `1.0.0`, 4128 `*`, 4132 `{}`, 4136 `id`
(data $texts (i32.const 4096) "purlin-test/wat\001.0.0\00\00\00\00\00\00\00\00\00\00\00*\00\00\00{}\00\00id")
;; 4144 `check`, 4152 `name`, 4160 `read`, 4168 `update-impact`, 4184 `update`
(data $functions (i32.const 4144) "check\00\00\00name\00\00\00\00read\00\00\00\00update-impact\00\00\00update")
