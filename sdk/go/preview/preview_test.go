package preview

import (
	"testing"

	"purlin.dev/purlin/internal/exports"
)

func TestTheImportIsEnough(t *testing.T) {
	if !exports.Previews {
		t.Error("package purlin does not know that the driver exports its previews")
	}
}
