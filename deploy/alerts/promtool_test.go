//go:build promtool

package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestPromtool lets Prometheus' own tool check the rules, and tell the stories in tests/: of
// each alert, what fires it and what must not. `make test-alerts` installs the tool.
func TestPromtool(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", "seckill.yml").CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := tell(t, t.TempDir(), rules(t))
	require.NoError(t, err, text)
}

// TestStoriesNotice proves that the stories can fail: where no alert ever fires, or all always
// do, what promtool finds wrong names every one of them.
func TestStoriesNotice(t *testing.T) {
	for name, expr := range map[string]string{"never": "vector(1) > 2", "always": "vector(1)"} {
		t.Run(name, func(t *testing.T) {
			broken, names := rules(t), []string(nil)
			for i, r := range broken {
				if r.Alert != "" {
					names = append(names, r.Alert)
					broken[i].Expr, broken[i].For = expr, ""
				}
			}
			text, err := tell(t, t.TempDir(), broken)
			require.Error(t, err)
			for _, alert := range names {
				require.Regexp(t, alert+`\b`, text, "no story notices that it fires "+name)
			}
		})
	}
}

// tell tells all stories of some rules, in a folder of their own.
func tell(t *testing.T, dir string, all []rule) (out string, err error) {
	t.Helper()
	file := map[string]any{"groups": []any{map[string]any{"name": "all", "rules": plain(all)}}}
	text, err := yaml.Marshal(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seckill.yml"), text, 0o600))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "tests"), os.DirFS("tests")))
	stories, err := filepath.Glob(filepath.Join(dir, "tests", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, stories)
	b, err := exec.CommandContext(t.Context(), "promtool", append([]string{"test", "rules"}, stories...)...).CombinedOutput()
	return string(b), err
}

// plain are rules without what they leave out.
func plain(all []rule) (rules []map[string]any) {
	for _, r := range all {
		m := map[string]any{"expr": r.Expr}
		for name, value := range map[string]string{"record": r.Record, "alert": r.Alert, "for": r.For} {
			if value = strings.TrimSpace(value); value != "" {
				m[name] = value
			}
		}
		if len(r.Labels) > 0 {
			m["labels"], m["annotations"] = r.Labels, r.Annotations
		}
		rules = append(rules, m)
	}
	return rules
}
