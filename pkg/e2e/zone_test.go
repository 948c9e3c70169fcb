package e2e

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// F16: both programs bring the time zones along, for images that have none.
func TestZonesAreBuiltIn(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"../../api", "../../worker"} {
		out, err := exec.Command("go", "list", "-tags", "nomsgpack", "-deps", program).Output()
		require.NoError(t, err)
		require.Contains(t, strings.Fields(string(out)), "time/tzdata", program)
	}
}
