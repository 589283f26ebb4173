package purlin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// region is used in inputs and outputs.
type region string

type storeInputs struct {
	_      struct{} `holds-data:"every table"`
	Values struct {
		Name     string            `purlin:",replaces" pattern:"^[a-z]{1,63}, ?\"$" max:"63" example:"shop, \"" desc:"The name."`
		Engine   *region           `purlin:",immutable" enum:"plain,in-memory" desc:"\"Ünïcode\" <&>."`
		Size     uint8             `min:"1" max:"64" default:"10"`
		Big      int64             `default:"-9223372036854775808"`
		Most     *uint64           `min:"18446744073709551615"`
		Share    float64           `default:"0.5" min:"0"`
		Disks    []disk            `default:"[]" max:"3"`
		Names    []string          `purlin:"all-names,optional" min:"1" pattern:"^[a-z]+$" enum:"a,b"`
		Labels   map[string]string `purlin:",optional" format:"email"`
		Extra    map[string]any    `purlin:",optional"`
		Open     any               `purlin:",optional"`
		Raw      json.RawMessage   `default:"{\"a\":1}"`
		Number   json.Number       `json:"number" schema:"{\"multipleOf\":0.5,\"x-purlin-hint-a\":[1]}"`
		From     time.Time         `purlin:",optional"`
		IsForced bool              `default:"false"`
		Spare    *disk             `purlin:",holds-data"`
		common
		Hidden string `purlin:"-"`
		hidden string
	}
	Secrets    struct{ Password *string }
	Params     Object
	Connection struct {
		_    struct{} `purlin:",open" reaches:"tcp" port:"5432" desc:"A server."`
		Host string   `purlin:",replaces"`
		Key  *string  `purlin:",secret"`
	}
	Account struct {
		Region string
		Token  *string `purlin:",secret"`
	}
}

type disk struct {
	Kind string `purlin:"type,replaces"`
}

type common struct {
	URL string `purlin:",optional" reaches:"http" methods:"POST,GET later"`
}

const storeSchema = `{"type":"object","x-purlin-holds-data":"every table","required":["values","connection","account"],"properties":{
"values":{"type":"object","required":["name","number"],"additionalProperties":false,"properties":{
"name":{"type":"string","description":"The name.","maxLength":63,"pattern":"^[a-z]{1,63}, ?\"$","examples":["shop, \""],"x-purlin-replaces":true},
"engine":{"type":["string","null"],"description":"\"Ünïcode\" <&>.","enum":["plain","in-memory",null],"x-purlin-immutable":true},
"size":{"type":"integer","minimum":1,"maximum":64,"default":10},
"big":{"type":"integer","default":-9223372036854775808},
"most":{"type":["integer","null"],"minimum":18446744073709551615},
"share":{"type":"number","minimum":0,"default":0.5},
"disks":{"type":"array","items":{"type":"object","required":["type"],"additionalProperties":false,"properties":{"type":{"type":"string","x-purlin-replaces":true}}},"maxItems":3,"default":[]},
"all-names":{"type":["array","null"],"items":{"type":"string","pattern":"^[a-z]+$","enum":["a","b"]},"minItems":1},
"labels":{"type":["object","null"],"additionalProperties":{"type":"string","format":"email"}},
"extra":{"type":["object","null"]},
"open":{},
"raw":{"default":{"a":1}},
"number":{"type":"number","multipleOf":0.5,"x-purlin-hint-a":[1]},
"from":{"type":["string","null"]},
"is_forced":{"type":"boolean","default":false},
"spare":{"type":["object","null"],"required":["type"],"additionalProperties":false,"properties":{"type":{"type":"string","x-purlin-replaces":true}},"x-purlin-holds-data":true},
"url":{"type":["string","null"],"x-purlin-reaches":"http","x-purlin-methods":["POST",{"method":"GET","later":true}]}}},
"secrets":{"type":"object","additionalProperties":false,"properties":{"password":{"type":["string","null"]}}},
"params":{"type":"object"},
"connection":{"type":"object","description":"A server.","x-purlin-reaches":"tcp","x-purlin-port":5432,"required":["host"],"properties":{
"host":{"type":"string","x-purlin-replaces":true},"key":{"type":["string","null"],"writeOnly":true}}},
"account":{"type":"object","required":["region"],"additionalProperties":false,"properties":{
"region":{"type":"string"},"token":{"type":["string","null"],"writeOnly":true}}}}}`

type storeOutputs struct {
	_      struct{} `purlin:",computed"`
	Host   string   `desc:"Where it is." format:"hostname"`
	Token  string   `purlin:",optional,secret,write-once"`
	Users  []user
	Region region `enum:"eu,us"`
	Port   *uint16
}

type user struct {
	Name     string
	Password string `purlin:",secret"`
}

const storeOutputsSchema = `{"type":"object","required":["host","users","region"],"additionalProperties":false,"x-purlin-outputs":"computed","properties":{
"host":{"type":"string","description":"Where it is.","format":"hostname"},
"token":{"type":"string","x-purlin-write-once":true,"writeOnly":true},
"users":{"type":"array","items":{"type":"object","required":["name","password"],"additionalProperties":false,"properties":{"name":{"type":"string"},"password":{"type":"string","writeOnly":true}}}},
"region":{"type":"string","enum":["eu","us"]},
"port":{"type":"integer","minimum":0,"maximum":65535}}}`

func TestOneStructGivesTheSchema(t *testing.T) {
	for _, this := range []struct {
		of   reflect.Type
		side side
		want string
	}{
		{reflect.TypeFor[storeInputs](), ofInputs, storeSchema},
		{reflect.TypeFor[storeOutputs](), ofOutputs, storeOutputsSchema},
	} {
		got, err := schemaOf(this.of, this.side)
		if want := strings.ReplaceAll(this.want, "\n", ""); err != nil || got != want {
			t.Errorf("%v\n%s\n%s", err, strings.ReplaceAll(got, `:{`, ":{\n"), strings.ReplaceAll(want, `:{`, ":{\n"))
		}
	}
}

func TestAnAccountIsAGroup(t *testing.T) {
	for _, this := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ Account Object }](), `{"type":"object","properties":{"account":{"type":"object"}}}`},
		{reflect.TypeFor[struct {
			Account struct{ Name, Type *string }
		}](), `{"type":"object","properties":{"account":{"type":"object","additionalProperties":false,"properties":{` +
			`"name":{"type":["string","null"]},"type":{"type":["string","null"]}}}}}`},
		{reflect.TypeFor[struct {
			Account struct{ Region string } `purlin:",open" desc:"A cloud."`
		}](), `{"type":"object","required":["account"],"properties":{"account":{"type":"object",` +
			`"required":["region"],"properties":{"region":{"type":"string"}},"description":"A cloud."}}}`},
	} {
		if got, err := schemaOf(this.of, ofInputs); err != nil || got != this.want {
			t.Errorf("%v\n%s\n%s", err, got, this.want)
		}
	}
}

func TestNumbersOfEachSizeHaveTheirEnds(t *testing.T) {
	type sizes struct {
		Values struct {
			A int8
			B int16
			C int32
			D int64
			E int
			F uint32
			G uint64
		}
	}
	got, err := schemaOf(reflect.TypeFor[sizes](), ofInputs)
	for _, part := range []string{
		`"a":{"type":"integer","minimum":-128,"maximum":127}`, `"b":{"type":"integer","minimum":-32768,"maximum":32767}`,
		`"c":{"type":"integer","minimum":-2147483648,"maximum":2147483647}`, `"d":{"type":"integer"}`, `"e":{"type":"integer"}`,
		`"f":{"type":"integer","minimum":0,"maximum":4294967295}`, `"g":{"type":"integer","minimum":0}`,
	} {
		if err != nil || !strings.Contains(got, part) {
			t.Errorf("%v: %s: %s", err, part, got)
		}
	}
}

type keeping struct {
	_ struct{} `holds-data:"a table" desc:"A table."`
}

func TestAFieldSaysMoreThanItsStruct(t *testing.T) {
	got, err := schemaOf(reflect.TypeFor[valued[struct {
		A keeping `holds-data:"all tables" desc:"Tables."`
		B keeping
	}]](), ofInputs)
	for _, part := range []string{
		`"a":{"type":"object","description":"Tables.","x-purlin-holds-data":"all tables","additionalProperties":false,"properties":{}}`,
		`"b":{"type":"object","description":"A table.","x-purlin-holds-data":"a table","additionalProperties":false,"properties":{}}`,
	} {
		if err != nil || !strings.Contains(got, part) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

type recursive struct {
	Name  string
	Below []recursive
}

type nested []nested

type nestedMap map[string]nestedMap

type toItself *toItself

type unexported struct{ A string }

type selfReading struct{ A string }

func (*selfReading) UnmarshalJSON([]byte) error { return nil }

// valued are inputs whose values are this.
type valued[T any] struct{ Values T }

func TestWrongTagsAreNamed(t *testing.T) {
	type in = reflect.Type
	inputs, outputs := ofInputs, ofOutputs
	for _, this := range []struct {
		of   in
		side side
		want string
	}{
		{reflect.TypeFor[valued[struct {
			A int `purlin:"a,replace"`
		}]](), inputs, ".Values.A has the word `replace`, which is unknown; the words are computed, "},
		{reflect.TypeFor[valued[struct {
			A int `purlin:",replaces,replaces"`
		}]](), inputs, "A has the word `replaces` twice"},
		{reflect.TypeFor[valued[struct {
			A int `patern:"a"`
		}]](), inputs, "A has the tag `patern`, which is unknown; the tags are default, desc,"},
		{reflect.TypeFor[valued[struct {
			A string `purlin:",write-once"`
		}]](), inputs, "A has the word `write-once`, which is only for outputs"},
		{reflect.TypeFor[struct {
			A string `purlin:",replaces"`
		}](), outputs, "A has the word `replaces`, which is only for inputs"},
		{reflect.TypeFor[struct {
			A string `default:"a"`
		}](), outputs, "A has the tag `default`, which is only for inputs"},
		{reflect.TypeFor[valued[struct {
			A int `default:"many"`
		}]](), inputs, `A has the tag default:"many": it has to be a whole number in JSON`},
		{reflect.TypeFor[valued[struct {
			A uint8 `default:"300"`
		}]](), inputs, `A has the tag default:"300": it is too large or too small`},
		{reflect.TypeFor[valued[struct {
			A []disk `default:"[{\"kind\":\"a\"}]"`
		}]](), inputs, `it /0/type is missing`},
		{reflect.TypeFor[valued[struct {
			A *int `default:"3"`
		}]](), inputs, "A has a default, so it always has a value"},
		{reflect.TypeFor[valued[struct {
			A string `purlin:",optional" default:"3"`
		}]](), inputs, "A has a default, so it always has a value"},
		{reflect.TypeFor[valued[struct {
			A string `default:"c" enum:"a,b"`
		}]](), inputs, "A has a default that is not one of its tag enum"},
		{reflect.TypeFor[valued[struct {
			A int `default:"0" min:"1"`
		}]](), inputs, `A has the tag default:"0", which is below its minimum 1`},
		{reflect.TypeFor[valued[struct {
			A string `default:"größer" max:"5"`
		}]](), inputs, "which is above its maxLength 5"},
		{reflect.TypeFor[valued[struct {
			A string `default:"RW" pattern:"^[a-z]+$"`
		}]](), inputs, `which its pattern "^[a-z]+$" does not match`},
		{reflect.TypeFor[valued[struct {
			A []string `default:"[\"a\",\"B\"]" pattern:"^[a-z]+$"`
		}]](), inputs, `which its pattern "^[a-z]+$" does not match`},
		{reflect.TypeFor[valued[struct {
			A []string `default:"[]" min:"1"`
		}]](), inputs, "which is below its minItems 1"},
		{reflect.TypeFor[valued[struct {
			A struct {
				B int `max:"3"`
			} `default:"{\"b\":4}"`
		}]](), inputs, `which is above its maximum 3`},
		{reflect.TypeFor[valued[struct {
			A map[string]string `default:"{\"b\":\"C\"}" pattern:"^c$"`
		}]](), inputs, `which its pattern "^c$" does not match`},
		{reflect.TypeFor[valued[struct {
			A string `example:"EU" pattern:"^[a-z]+$"`
		}]](), inputs, `A has the tag example:"EU", which its pattern "^[a-z]+$" does not match`},
		{reflect.TypeFor[valued[struct {
			A int `enum:"1,x"`
		}]](), inputs, `A has the tag enum:"1,x": "x" is not a whole number`},
		{reflect.TypeFor[valued[struct {
			A string `enum:"a,a"`
		}]](), inputs, "is there twice"},
		{reflect.TypeFor[valued[struct {
			A string `enum:"a, b"`
		}]](), inputs, `" b" is not a text, has spaces around it`},
		{reflect.TypeFor[valued[struct {
			A string `purlin:" a"`
		}]](), inputs, `A has the name " a", with spaces around it`},
		{reflect.TypeFor[valued[struct {
			A string `min:"-1"`
		}]](), inputs, `A has the tag min:"-1": it is too large or too small`},
		{reflect.TypeFor[valued[struct {
			A string `min:"1.5"`
		}]](), inputs, `A has the tag min:"1.5": it has to be a whole number`},
		{reflect.TypeFor[valued[struct {
			A int `min:"9" max:"1"`
		}]](), inputs, "A has a tag min that is above its tag max"},
		{reflect.TypeFor[valued[struct {
			A bool `min:"1"`
		}]](), inputs, "which says nothing about true or false"},
		{reflect.TypeFor[valued[struct {
			A int `pattern:"a"`
		}]](), inputs, `A has the tag pattern:"a", which says nothing about a whole number`},
		{reflect.TypeFor[valued[struct {
			A map[string]any `pattern:"a"`
		}]](), inputs, "which says nothing about a value"},
		{reflect.TypeFor[valued[struct {
			A string `reaches:"udp"`
		}]](), inputs, "it has to be http, tcp or dir"},
		{reflect.TypeFor[valued[struct {
			A string `port:"80"`
		}]](), inputs, "beside reaches:\"tcp\""},
		{reflect.TypeFor[valued[struct {
			A string `reaches:"tcp" port:"70000"`
		}]](), inputs, "a port from 1 to 65535"},
		{reflect.TypeFor[valued[struct {
			A string `reaches:"http" methods:"post"`
		}]](), inputs, "write it as \"POST,GET later\""},
		{reflect.TypeFor[valued[struct {
			A string `purlin:",holds-data" holds-data:"all"`
		}]](), inputs, "not both, and not empty"},
		{reflect.TypeFor[valued[struct {
			A string `schema:"[]"`
		}]](), inputs, "it has to be a map in JSON"},
		{reflect.TypeFor[valued[struct {
			A string `schema:"{\"type\":\"x\"}"`
		}]](), inputs, "`type` is there already"},
		{reflect.TypeFor[valued[struct {
			A string `example:"a"`
			B int    `example:"a"`
		}]](), inputs, `B has the tag example:"a"`},
		{reflect.TypeFor[valued[struct {
			A string `purlin:",open"`
		}]](), inputs, "A has `open`, which is only for structs"},
		{reflect.TypeFor[valued[struct {
			a string `desc:"a"`
		}]](), inputs, ".Values.a has a tag, but is not exported"},
		{reflect.TypeFor[valued[struct {
			*unexported
		}]](), inputs, "is embedded: it has to be a struct without a tag"},
		{reflect.TypeFor[valued[struct {
			A string `json:"b"`
		}]](), inputs, "A is `b` in tag json and `a` here"},
		{reflect.TypeFor[valued[struct {
			A string
			B string `purlin:"a"`
		}]](), inputs, "B is `a`, as is "},
		{reflect.TypeFor[valued[struct {
			_ struct{} `purlin:"all"`
			A string
		}]](), inputs, "describes the whole struct: once, without a name"},
		{reflect.TypeFor[valued[struct {
			_ struct{} `purlin:"open"`
		}]](), inputs, "_ has the name `open`, which is a word: write purlin:\",open\""},
		{reflect.TypeFor[valued[struct {
			A string `purlin:"secret"`
		}]](), inputs, ".Values.A has the name `secret`, which is a word: write purlin:\",secret\", or call the field Secret if that is its name"},
		{reflect.TypeFor[struct {
			A string `purlin:"write-once,secret"`
		}](), outputs, "write purlin:\",write-once,secret\", or call the field WriteOnce"},
		{reflect.TypeFor[valued[struct {
			_ struct{} `default:"a"`
		}]](), inputs, "_ has `default`, which says nothing about the whole struct"},
		{reflect.TypeFor[struct {
			A struct {
				_ struct{} `purlin:",computed"`
			}
		}](), outputs, "only for the outputs as a whole"},
		{reflect.TypeFor[valued[recursive]](), inputs, "purlin.recursive.Below is a purlin.recursive within itself"},
		{reflect.TypeFor[valued[struct{ A nested }]](), inputs, "A is a purlin.nested within itself"},
		{reflect.TypeFor[valued[struct{ A nestedMap }]](), inputs, "A is a purlin.nestedMap within itself"},
		{reflect.TypeFor[valued[struct{ A toItself }]](), inputs, "A is a purlin.toItself, which JSON does not have"},
		{reflect.TypeFor[valued[struct{ time.Time }]](), inputs, "Values is a group of inputs: it has to be a struct"},
		{reflect.TypeFor[valued[struct{ A chan int }]](), inputs, "A is a chan int, which JSON does not have"},
		{reflect.TypeFor[valued[struct{ A **int }]](), inputs, "A is a *int, which JSON does not have"},
		{reflect.TypeFor[valued[struct{ A *[]int }]](), inputs, "A is a pointer to a []int, which can be nil itself"},
		{reflect.TypeFor[valued[struct{ A []byte }]](), inputs, "A is a list of bytes"},
		{reflect.TypeFor[valued[struct{ A float32 }]](), inputs, "A is a float32, in which numbers lose digits"},
		{reflect.TypeFor[valued[struct{ A map[int]string }]](), inputs, "maps in JSON have texts as keys"},
		{reflect.TypeFor[valued[struct{ A time.Duration }]](), inputs, "A is a time.Duration"},
		{reflect.TypeFor[valued[struct{ A []selfReading }]](), inputs, "A is a purlin.selfReading, which reads JSON by itself"},
		{reflect.TypeFor[valued[struct{ A error }]](), inputs, "A is a error, which JSON does not have"},
		{reflect.TypeFor[struct{ Value struct{} }](), inputs, "Value is no group of inputs; the groups are values, secrets"},
		{reflect.TypeFor[struct{ Values []string }](), inputs, "Values is a group of inputs: it has to be a struct"},
		{reflect.TypeFor[struct {
			Values struct{} `purlin:",replaces"`
		}](), inputs, "Values has `replaces`, which says nothing about a group of inputs"},
		{reflect.TypeFor[Inputs](), inputs, "purlin.Inputs has no schema"},
		{reflect.TypeFor[string](), outputs, "string does not describe outputs: that has to be a struct"},
	} {
		got, err := schemaOf(this.of, this.side)
		if err == nil || got != "" || !strings.Contains(err.Error(), this.want) {
			t.Errorf("%s:\n%v %s", this.want, err, got)
		}
	}
}

func TestNoPartOfATagIsIgnored(t *testing.T) {
	for tag, want := range map[string]string{
		`purlin:"a" desc:missing`: "at `desc:missing`", `purlin:"a",desc:"b"`: "at `,desc:\"b\"`, where a space has to be",
		`desc:"a" desc:"b"`: "`desc` is there twice", `desc`: "at `desc`", `desc: "a"`: "at `desc: \"a\"`",
		`desc:"\x"`: "at `desc:\"\\x\"`", "desc:`a`": "at `desc:`a``",
	} {
		field := reflect.StructField{Name: "A", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(tag)}
		of := reflect.StructOf([]reflect.StructField{{Name: "Values", Type: reflect.StructOf([]reflect.StructField{field})}})
		if _, err := schemaOf(of, ofInputs); err == nil || !strings.Contains(err.Error(), "A has a tag that is not `key:\"value\"` pairs: "+want) {
			t.Errorf("%s: %v", tag, err)
		}
	}
	all, err := parseTag(`  purlin:"a,b"   pattern:"^a,\"\\d{1,2}:$" desc:"ü" `)
	if want := map[string]string{"purlin": "a,b", "pattern": `^a,"\d{1,2}:$`, "desc": "ü"}; err != nil || !reflect.DeepEqual(all, want) {
		t.Error(all, err)
	}
}

func TestEveryWrongTagIsNamedAtOnce(t *testing.T) {
	_, err := schemaOf(reflect.TypeFor[valued[struct {
		A int     `min:"a"`
		B float32 `desc:"b"`
		C []disk  `pattern:"a"`
		D string  `patern:"a"`
	}]](), ofInputs)
	if err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Fatal(err)
	}
}

func TestAFieldMayHaveTheNameOfAWord(t *testing.T) {
	_, err := schemaOf(reflect.TypeFor[valued[struct {
		Secret    string `purlin:"secret,secret"`
		WriteOnce bool   `purlin:"write-once"`
		Open      bool
	}]](), ofInputs)
	if err != nil {
		t.Error(err)
	}
}

func TestADefaultThatFitsIsOne(t *testing.T) {
	_, err := schemaOf(reflect.TypeFor[valued[struct {
		Ends  int64             `default:"3" min:"3" max:"3"`
		Text  string            `default:"größe" max:"5" pattern:"^\\p{L}+$"`
		Host  string            `default:"a" pattern:"^(?!b)"`
		Names []string          `default:"[\"a\"]" min:"1" pattern:"^a$"`
		Open  map[string]string `default:"{}" max:"1" pattern:"^a$"`
	}]](), ofInputs)
	if err != nil {
		t.Error(err)
	}
}

// column describes inputs and outputs, although only inputs have a default.
type column struct {
	Limit int `default:"3"`
}

type boardOutputs struct {
	Columns []column
	Named   map[string]*column
}

func TestAStructOfBothSidesIsNamedWithItsPath(t *testing.T) {
	if _, err := schemaOf(reflect.TypeFor[valued[column]](), ofInputs); err != nil {
		t.Fatal(err)
	}
	_, err := schemaOf(reflect.TypeFor[boardOutputs](), ofOutputs)
	want := "purlin.boardOutputs.Columns[].Limit has the tag `default`, which is only for inputs; write a struct of its own for outputs, instead of purlin.column"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestNamesAreWrittenAsInputsAre(t *testing.T) {
	for name, want := range map[string]string{
		"Title": "title", "ForceDestroy": "force_destroy", "ID": "id", "APIKey": "api_key", "SHA256": "sha256",
		"UserID": "user_id", "TTLSeconds": "ttl_seconds", "Größe": "größe", "A": "a", "ABTest": "ab_test",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
