package alerts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// rule is an alert or a recorded expression.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("seckill.yml")
	require.NoError(t, err)
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal(text, &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// TestRulesUseWhatIsExposed finds series of the programs, or a recorded one, for every
// selector of every rule.
func TestRulesUseWhatIsExposed(t *testing.T) {
	api, worker := exposed(t)
	all := rules(t)
	for _, r := range all {
		found := selectors(r.Expr)
		require.NotEmpty(t, found, r.Alert+r.Record)
		for _, s := range found {
			recorded := slices.ContainsFunc(all, func(r rule) bool { return r.Record == s.name })
			require.True(t, recorded || s.in(api) || s.in(worker), "%s: nobody exposes %+v", r.Alert+r.Record, s)
		}
	}
}

// TestRulesSayWhatToDo holds the alerts to what somebody needs who is woken by one.
func TestRulesSayWhatToDo(t *testing.T) {
	text, err := os.ReadFile("../RUNBOOK.md")
	require.NoError(t, err)
	named := map[string]bool{}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		require.False(t, named[r.Alert], "%s is there twice", r.Alert)
		named[r.Alert] = true
		require.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.Greater(t, len(r.Annotations["description"]), 40, r.Alert)
		anchor, ok := strings.CutPrefix(r.Annotations["runbook"], "deploy/RUNBOOK.md#")
		require.True(t, ok, r.Alert)
		require.Contains(t, anchors(string(text)), anchor, r.Alert)
	}
}

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notAnchor = regexp.MustCompile(`[^a-z0-9 -]`)
)

// anchors are the names by which a page's headings are linked to.
func anchors(page string) (all []string) {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return all
}

// selector picks series by name and labels.
type selector struct {
	name     string
	matchers []matcher
}

type matcher struct{ label, op, value string }

var (
	selection = regexp.MustCompile(`\b(seckill[:_][a-z0-9_:]+)(\{[^}]*\})?`)
	matching  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
)

// selectors reads those of an expression. No label value of ours has a "}" in it.
func selectors(expr string) (all []selector) {
	for _, m := range selection.FindAllStringSubmatch(expr, -1) {
		s := selector{name: m[1]}
		for _, pair := range matching.FindAllStringSubmatch(m[2], -1) {
			s.matchers = append(s.matchers, matcher{pair[1], pair[2], pair[3]})
		}
		all = append(all, s)
	}
	return all
}

// in reports whether a program exposes series that s picks.
func (s selector) in(e exposition) bool {
	return slices.ContainsFunc(e.series, func(one series) bool {
		return one.name == s.name && !slices.ContainsFunc(s.matchers, func(m matcher) bool { return !m.takes(one.labels) })
	})
}

func (m matcher) takes(labels map[string]string) bool {
	value, known := labels[m.label]
	if strings.HasPrefix(m.value, "$") {
		return known || m.label == "instance" // a variable of the dashboard takes any
	}
	switch m.op {
	case "=":
		return value == m.value
	case "!=":
		return value != m.value
	}
	matches := regexp.MustCompile("^(?:" + m.value + ")$").MatchString(value)
	return matches == (m.op == "=~")
}

// The check can fail: it knows what is not there.
func TestSelectors(t *testing.T) {
	e := exposition{series: []series{{"seckill_admit_total", map[string]string{"code": "ACCEPTED"}}}}
	for expr, want := range map[string]bool{
		`rate(seckill_admit_total[5m])`:                       true,
		`seckill_admit_total{code="ACCEPTED"}`:                true,
		`seckill_admit_total{code=~"ACC.*",code!="SOLD_OUT"}`: true,
		`seckill_admit_total{code="ACCEPTED",pool="sql"}`:     false,
		`seckill_admit_total{instance=~"$instance"}`:          true,
		`seckill_admit_totals`:                                false,
		`seckill_admit_total{code!~"A.*"}`:                    false,
	} {
		found := selectors(expr)
		require.Len(t, found, 1, expr)
		require.Equal(t, want, found[0].in(e), expr)
	}
}
