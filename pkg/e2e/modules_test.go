package e2e

import (
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixedSince are modules that had a fault that matters to a server, and where it was mended.
var fixedSince = []struct{ module, version, fault string }{
	{"github.com/redis/go-redis/v9", "v9.7.3", "CVE-2025-29923: after a time-out a reply may reach another caller"},
	{"github.com/golang-jwt/jwt/v5", "v5.2.2", "CVE-2025-30204: a header of many dots takes memory"},
	{"github.com/gin-gonic/gin", "v1.9.1", "CVE-2023-29401: file names in headers"},
	{"github.com/quic-go/quic-go", "v0.57.0", "CVE-2025-64702: headers that expand without end"},
	{"golang.org/x/crypto", "v0.45.0", "CVE-2025-58181, CVE-2025-47914, CVE-2025-22869, CVE-2024-45337"},
	{"golang.org/x/net", "v0.38.0", "CVE-2025-22872, CVE-2025-22870, CVE-2023-45288"},
	{"google.golang.org/protobuf", "v1.33.0", "CVE-2024-24786: an endless loop on some JSON"},
}

// D9: what is linked into the programs is not older than its fixes. `make vuln` knows more
// and asks a server; this is what must never come back.
func TestModulesHaveTheirFixes(t *testing.T) {
	t.Parallel()
	linked := map[string]string{}
	for _, program := range []string{"api", "worker"} {
		info, err := buildinfo.ReadFile(filepath.Join(bin, program))
		require.NoError(t, err)
		for _, m := range info.Deps {
			require.Nil(t, m.Replace, m.Path)
			linked[m.Path] = m.Version
		}
	}
	for _, module := range []string{"github.com/redis/go-redis/v9", "github.com/golang-jwt/jwt/v5", "github.com/gin-gonic/gin"} {
		require.Contains(t, linked, module)
	}
	for _, f := range fixedSince {
		if version, ok := linked[f.module]; ok {
			require.False(t, older(t, version, f.version), "%s %s is older than %s: %s", f.module, version, f.version, f.fault)
		}
	}
	require.True(t, older(t, "v9.7.3-beta.1", "v9.7.3"), "a pre-release comes before its release")
	require.True(t, older(t, "v9.7.2", "v9.7.3"))
	require.False(t, older(t, "v9.23.0", "v9.7.3"))
}

// older compares semantic versions.
func older(t *testing.T, a, b string) bool {
	var x, y [3]int
	var suffix string
	n, _ := fmt.Sscanf(a, "v%d.%d.%d%s", &x[0], &x[1], &x[2], &suffix)
	require.GreaterOrEqual(t, n, 3, a)
	_, err := fmt.Sscanf(b, "v%d.%d.%d", &y[0], &y[1], &y[2])
	require.NoError(t, err)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return suffix != ""
}
