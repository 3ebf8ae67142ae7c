-- Takes from a run database what migrations after runner 0.1 have added (lua/state/schema.lua):
-- who adds one adds its undoing here.
ALTER TABLE runs DROP COLUMN askers;
DROP TABLE approvals;
ALTER TABLE runs DROP COLUMN recover;
DROP INDEX runs_by_project;
ALTER TABLE runs DROP COLUMN project;
DROP TABLE warnings;
DROP TABLE prices;
ALTER TABLE runs DROP COLUMN surroundings;
DROP TABLE imports;
DROP TABLE chunks;
DROP TABLE placements;
DROP TABLE units;
DROP TABLE about;
DROP TABLE removed;
DROP TABLE keys;
DROP TABLE usage;
ALTER TABLE runs DROP COLUMN errexit;
ALTER TABLE runs DROP COLUMN max_cost_micros;
ALTER TABLE runs DROP COLUMN given_cost_micros;
ALTER TABLE runs DROP COLUMN given_on;
ALTER TABLE runs DROP COLUMN context;
ALTER TABLE steps DROP COLUMN held;
ALTER TABLE attempts DROP COLUMN limit_ms;
ALTER TABLE attempts DROP COLUMN rowid;
PRAGMA user_version = 1;
