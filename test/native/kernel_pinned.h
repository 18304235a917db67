/* CRC-32C of the bytes of vectors that version 1 of the models gives; kernel_test --pin prints them anew. */
    {AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "The quick brown fox jumps over the lazy dog.", 0xd3b83741u},
    {AME_MODEL_MULTIGRAM, AME_ROLE_QUERY, "How do I undo the last commit?", 0xf7a1c6f2u},
    {AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "Der Fluss Donau mündet ins Schwarze Meer. Река Дунай.", 0xa96fb542u},
    {AME_MODEL_MULTIGRAM, AME_ROLE_DOCUMENT, "北京市は大きい。 parseJSON(utf8_string) 🎉 don't", 0x6a101c8fu},
    {AME_MODEL_BIGRAM, AME_ROLE_DOCUMENT, "The quick brown fox jumps over the lazy dog.", 0x384a9ce3u},
    {AME_MODEL_BIGRAM, AME_ROLE_QUERY, "Größe 42, façade", 0x793794b4u},
