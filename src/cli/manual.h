// The whole manual, printed from the table of commands: as a man page, and as Markdown.
#pragma once

void manual_roff(void);
void manual_markdown(void);
