package purlin

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layout is what the contract's records are in memory, as the host's tests write it.
const layout = "../../host/component/tests/layout.txt"

// otherwise are names that differ from those of the contract.
var otherwise = map[string]string{
	"denial": "denied", "requestedCapability": "capability", "typeSchema": "type", "driverInfo": "driver",
	"typeName": "kind", "requestedCapabilities": "capabilities",
}

// goName is a name of the contract as it is written here: without dashes.
func goName(name string) string {
	words := strings.Split(strings.TrimSuffix(name, "-request"), "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	joined := strings.Join(words, "")
	if other, found := otherwise[joined]; found {
		return other
	}
	return joined
}

func parsed(t *testing.T, files *token.FileSet, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// paragraphs are the parts of the layout with this head: each one's name, what follows it, and its lines.
func paragraphs(t *testing.T, head string) [][]string {
	t.Helper()
	text, err := os.ReadFile(layout)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this is not the repository of the package")
	}
	if err != nil {
		t.Fatal(err)
	}
	var found [][]string
	for _, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		if rest, is := strings.CutPrefix(part, head+" "); is {
			found = append(found, strings.Split(strings.Replace(rest, ": ", "\n", 1), "\n"))
		}
	}
	return found
}

func TestRecordsLieInMemoryAsTheContractSays(t *testing.T) {
	files := token.NewFileSet()
	sizes := types.SizesFor("gc", "wasm")
	// What the file imports is not needed: its records consist of its own types.
	config := types.Config{Sizes: sizes, Error: func(error) {}}
	checked, _ := config.Check("purlin", files, []*ast.File{parsed(t, files, "abi_wasip1.go")}, nil)
	numbers := regexp.MustCompile(`\d+`)
	records := paragraphs(t, "record")
	for _, record := range records {
		name := goName(record[0]) + "Record"
		object := checked.Scope().Lookup(name)
		if object == nil {
			t.Errorf("there is no %s", name)
			continue
		}
		whole := numbers.FindAllString(record[1], 2)
		size, align := sizes.Sizeof(object.Type()), sizes.Alignof(object.Type())
		if whole[0] != strconv.FormatInt(size, 10) || whole[1] != strconv.FormatInt(align, 10) {
			t.Errorf("%s has %d bytes, aligned to %d, not %s", name, size, align, record[1])
		}
		var fields []*types.Var
		for field := range object.Type().Underlying().(*types.Struct).Fields() {
			fields = append(fields, field)
		}
		var there, wanted []string
		for i, offset := range sizes.Offsetsof(fields) {
			there = append(there, strconv.FormatInt(offset, 10)+" "+fields[i].Name())
		}
		for _, line := range record[2:] {
			offset, field, _ := strings.Cut(strings.TrimSpace(line), " ")
			wanted = append(wanted, offset+" "+goName(field))
		}
		if !slices.Equal(there, wanted) {
			t.Errorf("%s has %q, not %q", name, there, wanted)
		}
	}
	if len(records) < 20 {
		t.Fatal("the layout could not be read", records)
	}
}

func TestFailuresAreNumberedAsTheContractSays(t *testing.T) {
	numbered := map[string]string{}
	ast.Inspect(parsed(t, token.NewFileSet(), "export_wasip1.go"), func(node ast.Node) bool {
		clause, is := node.(*ast.CaseClause)
		if !is {
			return true
		}
		kind := "Failed"
		if len(clause.List) > 0 {
			kind = clause.List[0].(*ast.Ident).Name
		}
		ast.Inspect(clause, func(node ast.Node) bool {
			if call, is := node.(*ast.CallExpr); is {
				if function, is := call.Fun.(*ast.Ident); is && function.Name == "fail" {
					numbered[kind] += call.Args[0].(*ast.BasicLit).Value
				}
			}
			return true
		})
		return false
	})
	variants := paragraphs(t, "variant")
	at := slices.IndexFunc(variants, func(variant []string) bool { return variant[0] == "failure" })
	if at < 0 || len(numbered) != len(variants[at])-2 {
		t.Fatal(variants, numbered)
	}
	for _, line := range variants[at][2:] {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = goName(name)
		if name = strings.ToUpper(name[:1]) + name[1:]; numbered[name] != number {
			t.Errorf("%s is %s, not %s", name, numbered[name], number)
		}
	}
}

func TestEffectsAreNumberedAsTheContractSays(t *testing.T) {
	variants := paragraphs(t, "variant")
	at := slices.IndexFunc(variants, func(variant []string) bool { return variant[0] == "effect" })
	// The request of each is where variant has it: after the number, aligned to 8.
	if at < 0 || !strings.HasSuffix(variants[at][1], "aligned to 8") {
		t.Fatal(variants)
	}
	var cases []string
	for _, line := range variants[at][2:] {
		cases = append(cases, strings.TrimSpace(line))
	}
	if want := []string{"0 create", "1 update", "2 delete"}; !slices.Equal(cases, want) {
		t.Errorf("effects are %q, not %q: change liftEffect", cases, want)
	}
}

func TestLevelsAndActionsAreNumberedAsTheContractSays(t *testing.T) {
	named := map[string]func(number int) string{
		"level": func(number int) string {
			Messages = nil
			Log(Level(number), "a")
			return strings.TrimSuffix(Messages[0], " a")
		},
		"action": func(number int) string { return Action(number).String() },
	}
	enums := paragraphs(t, "enum")
	for _, enum := range enums {
		for number, name := range strings.Fields(enum[1]) {
			if named[enum[0]] == nil || named[enum[0]](number) != name {
				t.Error(enum[0], number, name)
			}
		}
	}
	if len(enums) != len(named) {
		t.Error(enums)
	}
	if Trace != 0 || Error != 4 || ActionNone != 0 || ActionForget != 8 {
		t.Error("levels end with Error, and actions with ActionForget")
	}
}
