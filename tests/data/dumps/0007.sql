BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0007');
CREATE TABLE changes (
	game INTEGER NOT NULL,
	version INTEGER NOT NULL,
	change TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (game, version),
	FOREIGN KEY(game) REFERENCES games (id) ON DELETE CASCADE
);
INSERT INTO "changes" VALUES(1,0,'9','2027-01-01T10:01:00.000000Z');
INSERT INTO "changes" VALUES(1,1,'8','2027-01-01T10:02:00.000000Z');
INSERT INTO "changes" VALUES(1,2,'6','2027-01-01T10:03:00.000000Z');
INSERT INTO "changes" VALUES(2,0,'3','2027-01-02T10:01:00.000000Z');
INSERT INTO "changes" VALUES(2,1,'5','2027-01-02T10:02:00.000000Z');
INSERT INTO "changes" VALUES(2,2,'undo 1','2027-01-02T10:03:00.000000Z');
INSERT INTO "changes" VALUES(2,3,'4','2027-01-02T10:04:00.000000Z');
INSERT INTO "changes" VALUES(2,4,'2','2027-01-02T10:05:00.000000Z');
INSERT INTO "changes" VALUES(2,5,'6','2027-01-02T10:06:00.000000Z');
INSERT INTO "changes" VALUES(2,6,'undo 2','2027-01-02T10:07:00.000000Z');
INSERT INTO "changes" VALUES(3,0,'9','2027-01-03T10:01:00.000000Z');
INSERT INTO "changes" VALUES(3,1,'resigned 2','2027-01-03T10:02:00.000000Z');
INSERT INTO "changes" VALUES(4,0,'4','2027-01-04T10:01:00.000000Z');
INSERT INTO "changes" VALUES(4,1,'2','2027-01-04T10:02:00.000000Z');
INSERT INTO "changes" VALUES(5,0,'abandoned 1','2027-01-05T10:01:00.000000Z');
INSERT INTO "changes" VALUES(10,0,'9','2027-01-06T10:01:00.000000Z');
INSERT INTO "changes" VALUES(10,1,'8','2027-01-06T10:02:00.000000Z');
INSERT INTO "changes" VALUES(10,2,'6','2027-01-06T10:03:00.000000Z');
INSERT INTO "changes" VALUES(11,0,'7','2027-01-06T10:04:00.000000Z');
INSERT INTO "changes" VALUES(12,0,'5','2027-01-07T10:00:01.000000Z');
INSERT INTO "changes" VALUES(12,1,'6','2027-01-07T10:00:02.000000Z');
CREATE TABLE classrooms (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	watch TEXT NOT NULL, 
	token TEXT NOT NULL, 
	settings TEXT NOT NULL, 
	state TEXT NOT NULL, 
	opened TEXT NOT NULL, 
	changed TEXT NOT NULL, 
	round INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	UNIQUE (watch)
);
INSERT INTO "classrooms" VALUES(1,'wclass_address','6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090','{"games": [{"name": "draft", "rules": {"blocks": "1-9", "supply": "shared", "towers": "own", "fit": "descending", "target": 15, "stuck": "skips"}, "book": null, "hidden": false}], "mode": "swiss", "best_of": 1, "level": null, "hints": false, "values": false, "tie_break": "buchholz", "claim_minutes": 5}','running','2027-01-08T09:00:00.000000Z','2027-01-08T09:10:00.000000Z',1,5);
CREATE TABLE games (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	"key" TEXT NOT NULL,
	rulebook TEXT NOT NULL,
	rules TEXT NOT NULL,
	book INTEGER,
	first SMALLINT NOT NULL,
	hidden BOOLEAN NOT NULL,
	name_1 TEXT,
	name_2 TEXT,
	player_1 TEXT NOT NULL,
	player_2 TEXT NOT NULL,
	seat_1 TEXT,
	seat_2 TEXT,
	seed TEXT,
	moves TEXT NOT NULL,
	winner SMALLINT,
	reason TEXT,
	version INTEGER NOT NULL,
	started TEXT NOT NULL,
	changed TEXT NOT NULL, "match" INTEGER REFERENCES matches (id), number INTEGER, mattered_1 INTEGER, kept_1 INTEGER, mattered_2 INTEGER, kept_2 INTEGER, with_values BOOLEAN DEFAULT 0 NOT NULL,
	UNIQUE ("key"),
	FOREIGN KEY(book) REFERENCES rulebooks (id)
);
INSERT INTO "games" VALUES(1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','draft','{"blocks": "1-9", "supply": "shared", "towers": "own", "fit": "descending", "target": 15, "stuck": "skips"}',NULL,1,0,NULL,NULL,'player 1','player 2',NULL,NULL,NULL,'9,8,6',1,'exact',3,'2027-01-01T10:00:00.000000Z','2027-01-01T10:03:00.000000Z',NULL,NULL,2,1,1,0,0);
INSERT INTO "games" VALUES(2,'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','summit','{"blocks": "1-6", "supply": "own", "towers": "shared", "fit": "any", "target": 12, "stuck": "loses"}',NULL,2,1,'Zoë','李','zoë','李',NULL,NULL,NULL,'3,4',NULL,NULL,7,'2027-01-02T10:00:00.000000Z','2027-01-02T10:07:00.000000Z',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(3,'cccccccccccccccccccccccccccccccc','race','{"blocks": "1-9", "supply": "own", "towers": "own", "fit": "any", "target": 15, "stuck": "loses"}',NULL,1,0,'Ann','Gentle','ann','gentle',NULL,'gentle','123456789012345678901234567890','9',1,'resigned',2,'2027-01-03T10:00:00.000000Z','2027-01-03T10:02:00.000000Z',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(4,'dddddddddddddddddddddddddddddddd','countdown','{"blocks": "1-4", "supply": "shared", "towers": "shared", "fit": "descending", "stuck": "loses"}',1,1,0,NULL,NULL,'player 1','player 2',NULL,NULL,NULL,'4,2',NULL,NULL,2,'2027-01-04T10:00:00.000000Z','2027-01-04T10:02:00.000000Z',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(5,'eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee','climb','{"blocks": "1-30", "supply": "shared", "towers": "shared", "fit": "ascending", "step": 5, "stuck": "loses"}',NULL,1,0,NULL,NULL,'player 1','player 2',NULL,NULL,NULL,'',NULL,'abandoned',1,'2027-01-05T10:00:00.000000Z','2027-01-05T10:01:00.000000Z',NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(10,'22222222222222222222222222222222','draft','{"blocks": "1-9", "supply": "shared", "towers": "own", "fit": "descending", "target": 15, "stuck": "skips"}',NULL,1,0,'Ann','Ben','ann','ben',NULL,NULL,NULL,'9,8,6',1,'exact',3,'2027-01-06T10:00:00.000000Z','2027-01-06T10:03:00.000000Z',1,1,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(11,'33333333333333333333333333333333','draft','{"blocks": "1-9", "supply": "shared", "towers": "own", "fit": "descending", "target": 15, "stuck": "skips"}',NULL,2,0,'Ann','Ben','ann','ben',NULL,NULL,NULL,'7',NULL,NULL,1,'2027-01-06T10:03:00.000000Z','2027-01-06T10:04:00.000000Z',1,2,NULL,NULL,NULL,NULL,0);
INSERT INTO "games" VALUES(12,'00000000000000000000000000000c0c','race','{"blocks": "1-9", "supply": "own", "towers": "own", "fit": "any", "target": 15, "stuck": "loses"}',NULL,1,0,NULL,NULL,'player 1','player 2',NULL,'easy','7','5,6',NULL,NULL,2,'2027-01-07T10:00:00.000000Z','2027-01-07T10:00:02.000000Z',NULL,NULL,NULL,NULL,NULL,NULL,1);
CREATE TABLE matches (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	"key" TEXT NOT NULL,
	games TEXT NOT NULL,
	best_of INTEGER NOT NULL,
	first SMALLINT NOT NULL,
	hidden BOOLEAN NOT NULL,
	name_1 TEXT,
	name_2 TEXT,
	seat_1 TEXT,
	seat_2 TEXT,
	seed TEXT,
	started TEXT NOT NULL,
	changed TEXT NOT NULL,
	finished BOOLEAN NOT NULL,
	UNIQUE ("key")
);
INSERT INTO "matches" VALUES(1,'11111111111111111111111111111111','[{"name": "draft", "rules": {"blocks": "1-9", "supply": "shared", "towers": "own", "fit": "descending", "target": 15, "stuck": "skips"}, "book": null}]',3,1,0,'Ann','Ben',NULL,NULL,NULL,'2027-01-06T10:00:00.000000Z','2027-01-06T10:04:00.000000Z',0);
CREATE TABLE pairings (
	classroom INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	round INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	paused BOOLEAN NOT NULL, 
	second INTEGER, 
	room INTEGER, 
	level TEXT, 
	ruling TEXT, 
	PRIMARY KEY (classroom, number), 
	FOREIGN KEY(classroom) REFERENCES classrooms (id) ON DELETE CASCADE, 
	UNIQUE (room), 
	FOREIGN KEY(room) REFERENCES rooms (id) ON DELETE SET NULL
);
INSERT INTO "pairings" VALUES(1,1,1,1,0,2,1,NULL,NULL);
INSERT INTO "pairings" VALUES(1,2,1,3,0,NULL,NULL,NULL,NULL);
CREATE TABLE pupils (
	classroom INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	state TEXT NOT NULL, 
	browser TEXT, 
	code TEXT, 
	until TEXT, 
	PRIMARY KEY (classroom, number), 
	FOREIGN KEY(classroom) REFERENCES classrooms (id) ON DELETE CASCADE
);
INSERT INTO "pupils" VALUES(1,1,'Ann','here','6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118091',NULL,NULL);
INSERT INTO "pupils" VALUES(1,2,'Ben','left',NULL,NULL,NULL);
INSERT INTO "pupils" VALUES(1,3,'Zoë','here',NULL,NULL,NULL);
CREATE TABLE puzzles (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	"key" TEXT NOT NULL,
	name TEXT,
	player TEXT,
	position TEXT NOT NULL,
	rulebook TEXT NOT NULL,
	grade SMALLINT NOT NULL,
	result TEXT NOT NULL,
	at TEXT NOT NULL,
	UNIQUE ("key")
);
INSERT INTO "puzzles" VALUES(1,'44444444444444444444444444444444','Ann','ann','draft:9,8','draft',1,'right','2027-01-07T10:00:00.000000Z');
CREATE TABLE rooms (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	address TEXT NOT NULL, 
	watch TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	since INTEGER NOT NULL, 
	best_of INTEGER, 
	hints BOOLEAN NOT NULL, 
	offer TEXT, 
	version INTEGER NOT NULL, 
	opened TEXT NOT NULL, 
	UNIQUE (address), 
	UNIQUE (watch)
);
INSERT INTO "rooms" VALUES(1,'addressOf1','wwatchOf1',1,1,NULL,1,'takeback 2',3,'2027-01-01T00:00:00.000000Z');
CREATE TABLE rounds (
	room INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	game INTEGER NOT NULL, 
	PRIMARY KEY (room, number), 
	FOREIGN KEY(room) REFERENCES rooms (id) ON DELETE CASCADE, 
	UNIQUE (game), 
	FOREIGN KEY(game) REFERENCES games (id) ON DELETE CASCADE
);
INSERT INTO "rounds" VALUES(1,1,1);
CREATE TABLE rulebooks (
	id INTEGER NOT NULL,
	digest TEXT NOT NULL,
	name TEXT NOT NULL,
	source TEXT NOT NULL,
	content TEXT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE (digest)
);
INSERT INTO "rulebooks" VALUES(1,'1db0460d1be5a68120291321615bb4869bf3144cc974df4d4ca56d71a8137529','countdown','games/countdown.toml','title = "Countdown"
summary = "Take turns going down from the top."
about = "One tower that only ever goes down: whoever places the last number has won."
options = ["blocks"]

[rules]
blocks = "1-4"
fit = "descending"

[voice]
noun = "step"
start = "10, 9, 8 ... well, from {blocks:-} it is.\n"
turn = "\n{player}, the steps left are {left: and |gone}.\n"
prompt = "Step? "
placed = "{player} steps to {block}."
end_stuck = "\nLift-off! {winner} wins.\n"
');
CREATE TABLE seats (
	room INTEGER NOT NULL, 
	seat SMALLINT NOT NULL, 
	token TEXT NOT NULL, 
	code TEXT, 
	until TEXT, browser TEXT, 
	PRIMARY KEY (room, seat), 
	FOREIGN KEY(room) REFERENCES rooms (id) ON DELETE CASCADE
);
INSERT INTO "seats" VALUES(1,1,'00903b35b33dc80d9058e53bea6d93acca59e2dbd81e4dd47a346422c51729f2',NULL,NULL,NULL);
INSERT INTO "seats" VALUES(1,2,'17b9639c99eebb8bf27dc599a4ae762accf05843cd8d926270098df9403f6c83',NULL,NULL,'b9dacc366cd86a33ce740f9a3f13ab1faed274bc54e38d2259d1d0cf576bf92f');
CREATE TABLE teachers (
	classroom INTEGER NOT NULL, 
	browser TEXT NOT NULL, 
	PRIMARY KEY (classroom, browser), 
	FOREIGN KEY(classroom) REFERENCES classrooms (id) ON DELETE CASCADE
);
INSERT INTO "teachers" VALUES(1,'0b14d501a594442a01c6859541bcb3e8164d183d32937b851835442f69d5c94e');
CREATE INDEX games_changed ON games (changed, id);
CREATE INDEX games_rulebook ON games (rulebook, changed);
CREATE INDEX games_player_1 ON games (player_1, changed);
CREATE INDEX games_player_2 ON games (player_2, changed);
CREATE INDEX games_unfinished ON games (changed) WHERE reason IS NULL;
CREATE INDEX matches_unfinished ON matches (changed) WHERE NOT finished;
CREATE UNIQUE INDEX games_match ON games ("match", number);
CREATE INDEX puzzles_player ON puzzles (player);
CREATE INDEX seats_browser ON seats (browser);
CREATE INDEX games_book ON games (book) WHERE book IS NOT NULL;
CREATE INDEX teachers_browser ON teachers (browser);
CREATE INDEX pupils_browser ON pupils (browser);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('games',12);
INSERT INTO "sqlite_sequence" VALUES('matches',1);
INSERT INTO "sqlite_sequence" VALUES('puzzles',1);
INSERT INTO "sqlite_sequence" VALUES('rooms',1);
INSERT INTO "sqlite_sequence" VALUES('classrooms',1);
COMMIT;
