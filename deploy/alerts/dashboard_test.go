package alerts

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// panel is what matters here of a panel of Grafana's.
type panel struct {
	ID                       int
	Type, Title, Description string
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Datasource               struct{ UID string }
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
}

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct{ Name, Type string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../grafana/seckill.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	require.Equal(t, "seckill", d.UID)
	require.GreaterOrEqual(t, d.SchemaVersion, 39, "of Grafana 11")
	require.Len(t, d.Templating.List, 2)
	require.Equal(t, "datasource", d.Templating.List[0].Type)
	require.Equal(t, "instance", d.Templating.List[1].Name)
	var rows []string
	ids, places := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		require.False(t, ids[p.ID], p.Title)
		ids[p.ID] = true
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				place := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				require.Empty(t, places[place], "%s lies on another", p.Title)
				places[place] = p.Title
			}
		}
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.Equal(t, "${source}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
	}
	require.Equal(t, []string{"The sale", "The workers", "The books", "Resources"}, rows)
}

// TestDashboardUsesWhatIsExposed finds series of the programs for every query.
func TestDashboardUsesWhatIsExposed(t *testing.T) {
	api, worker := exposed(t)
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			require.Equal(t, "${source}", target.Datasource.UID, p.Title)
			found := selectors(target.Expr)
			require.NotEmpty(t, found, p.Title)
			for _, s := range found {
				require.True(t, s.in(api) || s.in(worker), "%s: nobody exposes %+v", p.Title, s)
			}
		}
	}
}
