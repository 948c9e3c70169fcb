package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/e2e/process"
)

// mutant is a classic mistake, planted into the source that the programs are built of: the
// source itself has no trace of it.
type mutant struct {
	name  string
	edits []edit
	plan  plan // that brings it out; unused with a scene
	scene func(c *crowd) []finding
	by    []string // the checks of which one has to catch it
}

// edit replaces a text that stands in a file exactly once.
type edit struct{ file, old, new string }

// tries are how many rounds may pass before a mutant has to be caught.
const tries = 3

// TestMutants proves that the suite can fail: each mutant is built, run, and has to be
// caught by a check that is made for it. That takes minutes, so MUTANTS=1 asks for it, and
// MUTANTS=name for some; without, the mutants are only held to the source as it is.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		_, err := m.texts()
		require.NoError(t, err, m.name)
	}
	asked := os.Getenv("MUTANTS")
	if asked == "" {
		return
	}
	for _, m := range mutants {
		if asked != "1" && !strings.Contains(m.name, asked) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, m.build(t.Context(), dir))
			m.hunt(t, dir)
		})
	}
}

// hunt runs rounds until a check catches the mutant. The same round without the mistake must
// show nothing, or it was the round that was caught.
func (m *mutant) hunt(t *testing.T, dir string) {
	for i := range uint64(tries) {
		began := time.Now()
		caught := checksOf(m.run(t, dir, i))
		if !slices.ContainsFunc(m.by, func(check string) bool { return caught[check] != "" }) {
			t.Logf("not caught by %v; findings: %v", m.by, caught)
			continue
		}
		took := time.Since(began).Round(time.Second)
		for _, check := range m.by {
			if caught[check] != "" {
				t.Logf("caught in %v by %s: %.300s", took, check, caught[check])
			}
		}
		m.control(t, i)
		return
	}
	t.Error("the suite does not see this mistake")
}

// sound are the rounds that were run without a mistake.
var sound = map[string]bool{}

// control runs the round without the mistake, once for all mutants that share it.
func (m *mutant) control(t *testing.T, i uint64) {
	key := fmt.Sprintf("%d %v %p", i, m.plan, m.scene)
	if sound[key] {
		return
	}
	require.Empty(t, m.run(t, bin, i), "without the mistake")
	sound[key] = true
}

// run is one round of the programs in a directory.
func (m *mutant) run(t *testing.T, dir string, i uint64) (found []finding) {
	p := m.plan
	p.seed, p.rest = 1+i, 12*time.Second
	if p.redis == "" {
		p.redis = always
	}
	t.Run(fmt.Sprintf("in %s %d", filepath.Base(dir), p.seed), func(t *testing.T) {
		if m.scene == nil {
			found = round(t, p, dir).found
			return
		}
		c := newCrowd(t, p, dir)
		found = m.scene(c)
		c.w.heal()
		c.w.close()
	})
	return found
}

// checksOf is the first text of each check that found something.
func checksOf(found []finding) map[string]string {
	texts := map[string]string{}
	for _, f := range found {
		if texts[f.check] == "" {
			texts[f.check] = f.text
		}
	}
	return texts
}

// texts are the files with the edits made, by their paths.
func (m *mutant) texts() (map[string]string, error) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, e := range m.edits {
		path := filepath.Join(root, e.file)
		if texts[path] == "" {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			texts[path] = string(b)
		}
		if n := strings.Count(texts[path], e.old); n != 1 {
			return nil, fmt.Errorf("this mutant is stale: %s has the text %d times:\n%s", e.file, n, e.old)
		}
		texts[path] = strings.Replace(texts[path], e.old, e.new, 1)
	}
	return texts, nil
}

// build builds the programs from the source with the edits laid over it.
func (m *mutant) build(ctx context.Context, dir string) error {
	texts, err := m.texts()
	if err != nil {
		return err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range texts {
		copied := filepath.Join(dir, strings.ReplaceAll(path, string(filepath.Separator), "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return err
		}
		overlay.Replace[path] = copied
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		return err
	}
	return process.Build(ctx, dir, "-overlay", list)
}

// script is a plan of a mutant: faults by name with what they strike, and when.
func script(units int, parts ...any) plan {
	p := plan{units: units}
	for i := 0; i+2 < len(parts); i += 3 {
		fs, err := chosen(parts[i+1].(string))
		if err != nil {
			panic(err)
		}
		p.add(step{
			fault: fs[0], at: time.Duration(parts[i].(int)) * time.Millisecond,
			lasts: 400 * time.Millisecond, dice: uint64(parts[i+2].(int)),
		})
	}
	return p
}
