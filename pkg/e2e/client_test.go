package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stranger who has deploy/openapi.yaml and a public generator can use the API: the client
// in folder client is made and type-checked from that file, then buys, pays and cancels.
func TestStrangersClient(t *testing.T) {
	t.Parallel()
	dir := builtClient(t)
	s := newStack(t)
	s.startAPI()
	s.startWorkers(1)
	voucher := s.createOpen(10)

	out := node(t, dir, "node", "out/stranger.js", s.api, voucher, token(t, 1, ""), token(t, 2, ""), token(t, 3, "service"))
	var met struct {
		Kept               string
		Repeated           bool
		Statuses, Refusals []string
	}
	require.NoError(t, json.Unmarshal(out, &met), string(out))
	require.True(t, met.Repeated)
	require.Equal(t, []string{"paid", "cancelled"}, met.Statuses)
	require.Equal(t, []string{"PAID", "ORDER_NOT_FOUND"}, met.Refusals)
	require.EqualValues(t, 1, s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ? AND status = 'paid'", met.Kept))
	require.EqualValues(t, 9, s.count("SELECT stock FROM seckill_voucher WHERE id = ?", voucher))
	require.Equal(t, "9", s.redis.Get(t.Context(), "seckill:stock:"+voucher).Val())
}

// builtClient generates and compiles the client into a folder of the cache, whose packages
// are installed once for each lock file.
func builtClient(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../.cache/client")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{".npmrc", "package.json", "package-lock.json", "tsconfig.json", "stranger.ts"} {
		content, err := os.ReadFile(filepath.Join("client", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	lock, err := os.ReadFile(filepath.Join("client", "package-lock.json"))
	require.NoError(t, err)
	stamp := filepath.Join(dir, "installed")
	if installed, _ := os.ReadFile(stamp); !bytes.Equal(installed, lock) {
		node(t, dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
		require.NoError(t, os.WriteFile(stamp, lock, 0o644))
	}
	node(t, dir, "node_modules/.bin/openapi-typescript", "../../deploy/openapi.yaml", "-o", "api.d.ts")
	node(t, dir, "node_modules/.bin/tsc", "-p", ".")
	return dir
}

// node runs a command in dir and returns what it wrote to its standard output.
func node(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaints
	require.NoError(t, cmd.Run(), "%s needs Node.js 18 or later, with npm: %s%s", name, out.String(), complaints.String())
	return out.Bytes()
}
