//go:build web

package web

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

const patient = time.Minute // for what takes a second on a machine that is not busy

var bin string // where the stack's program is

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "seckill-web")
	if err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-tags", "nomsgpack", "-o", dir, "github.com/openseckill/seckill/deploy/standalone")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%s%v", out, err))
	}
	bin = dir
	exit := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(exit)
}

// startStack runs a whole system with further settings, and returns its address.
func startStack(t *testing.T, env ...string) string {
	t.Helper()
	p := process.New(t.Context(), bin, []string{"standalone", "run"}, env)
	require.NoError(t, p.Start())
	require.NoError(t, p.Ready(t.Context()))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.Output())
		}
	})
	return "http://" + p.HTTP
}

// browse runs a script of folder browser against the stack at base.
func browse(t *testing.T, script, base string) {
	t.Helper()
	dir := installed(t)
	pictures := cmp.Or(os.Getenv("PICTURES"), t.TempDir()) // those of the README change only when asked for
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=spec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BASE="+base, "CHROMIUM="+chromium(t), "PICTURES="+pictures)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it ends its browser
	cmd.WaitDelay = patient
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	require.NoError(t, cmd.Run())
}

func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Fail(t, "there is no Chromium: deploy/servers.sh chromium installs one")
	return ""
}

// installed copies the scripts into a folder of the cache, whose packages are installed once
// for each lock file.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../.cache/web")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	files, err := filepath.Glob("*.mjs")
	require.NoError(t, err)
	for _, name := range append(files, ".npmrc", "package.json", "package-lock.json") {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
	lock, err := os.ReadFile("package-lock.json")
	require.NoError(t, err)
	stamp := filepath.Join(dir, "installed")
	if last, _ := os.ReadFile(stamp); !bytes.Equal(last, lock) {
		cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.WriteFile(stamp, lock, 0o644))
	}
	return dir
}
