package alerts

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// metric is a family as the page or a program tells it.
type metric struct{ kind, labels string }

var pageRow = regexp.MustCompile("^\\| `(seckill_\\w+)` \\| (\\w+) \\| ([^|]*)\\| ([^|]+)\\|")

// TestPage holds the page of metrics to what the programs expose, both ways.
func TestPage(t *testing.T) {
	api, worker := exposed(t)
	page := readPage(t)
	require.Equal(t, []string{"Both programs", "api", "worker"}, slices.Sorted(maps.Keys(page)))
	for program, e := range map[string]exposition{"api": api, "worker": worker} {
		told := maps.Clone(page["Both programs"])
		maps.Copy(told, page[program])
		require.Equal(t, e.metrics(), told, program)
	}
}

// readPage reads the tables by their headings.
func readPage(t *testing.T) map[string]map[string]metric {
	t.Helper()
	text, err := os.ReadFile("../METRICS.md")
	require.NoError(t, err)
	page, heading := map[string]map[string]metric{}, ""
	for line := range strings.Lines(string(text)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
			page[heading] = map[string]metric{}
		}
		if row := pageRow.FindStringSubmatch(line); row != nil {
			require.NotContains(t, page[heading], row[1])
			labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
			slices.Sort(labels)
			page[heading][row[1]] = metric{row[2], strings.Join(labels, " ")}
		}
	}
	return page
}

// metrics are the families, each with the names of its labels.
func (e exposition) metrics() map[string]metric {
	found := map[string]metric{}
	for _, s := range e.series {
		names := slices.Sorted(maps.Keys(s.labels))
		names = slices.DeleteFunc(names, func(name string) bool { return name == "le" })
		f := e.family(s.name)
		found[f] = metric{e.types[f], strings.Join(names, " ")}
	}
	return found
}
