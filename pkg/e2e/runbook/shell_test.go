package runbook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shell is an operator's terminal: what a block sets or writes, the next one has, and no
// other terminal.
type shell struct {
	env  []string
	dir  string
	kept string // file with the variables so far
}

func newShell(t *testing.T, env ...string) *shell {
	dir := t.TempDir()
	s := &shell{env: append(os.Environ(), env...), dir: dir, kept: filepath.Join(dir, "exports")}
	s.set(t, "")
	return s
}

// set exports further variables, as lines of shell.
func (s *shell) set(t *testing.T, lines string) {
	t.Helper()
	f, err := os.OpenFile(s.kept, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString(lines + "\n")
	require.NoError(t, err)
}

// run runs a block as it stands, and says how its output differs from what the page shows.
func (s *shell) run(ctx context.Context, b block) error {
	const most = 40 * time.Second // for what takes moments on a machine that is not busy
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "-e", "-c",
		"set -a; . "+s.kept+"; trap 'export -p >"+s.kept+"' EXIT\n"+b.shell)
	c.Env, c.Dir = s.env, s.dir
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("line %d: %w\n%s\n%s", b.line, errors.Join(err, context.Cause(ctx)), b.shell, out)
	}
	if line := missing(b.shown, string(out)); line != "" {
		return fmt.Errorf("line %d: this line is missing: %s\n%s\n%s", b.line, line, b.shell, out)
	}
	return nil
}

// The check can fail: by an exit code in the middle, and by a line that does not come.
func TestRun(t *testing.T) {
	s := newShell(t, "GIVEN=1")
	for _, row := range []struct {
		name string
		b    block
		says string
	}{
		{"what the page shows", block{shell: "NAME=x$GIVEN\necho is $NAME", shown: []string{"is x1"}}, ""},
		{"what was set before", block{shell: "echo $NAME", shown: []string{"x1"}}, ""},
		{"a command that fails", block{line: 7, shell: "false\ntrue"}, "line 7: exit status 1"},
		{"a line that does not come", block{line: 9, shell: "echo is $NAME", shown: []string{"is y"}}, "line 9: this line is missing: is y"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := s.run(t.Context(), row.b)
			if row.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.says)
		})
	}
}
