// Adding, and remembering whether it worked.
#include "server/sheet.h"

void sheet_put(struct sheet *sheet, json_t *object, const char *name, json_t *value)
{
    sheet->incomplete |= json_object_set_new(object, name, value) != 0;
}

void sheet_add(struct sheet *sheet, json_t *array, json_t *value)
{
    sheet->incomplete |= json_array_append_new(array, value) != 0;
}

void sheet_say(struct sheet *sheet, json_t *object, const char *name, const char *text)
{
    sheet_put(sheet, object, name, json_string(text));
}

json_t *sheet_ref(struct sheet *sheet, const char *kind, const char *name)
{
    struct str place = str_format(sheet->arena, "#/components/%s/%s", kind, name);
    return json_pack("{s:s%}", "$ref", place.s, place.n);
}
